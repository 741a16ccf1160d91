use strict;
use warnings;
use Test::More tests => 3;
use File::Temp qw(tempfile);

use_ok('Stats');
is(Stats::mean(1, 2, 3), 2, 'mean');
my ($handle, $path) = tempfile(UNLINK => 1);
print {$handle} "x";
close $handle;
ok(-s $path, 'temporary file');
