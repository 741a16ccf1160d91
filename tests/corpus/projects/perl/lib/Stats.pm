package Stats;
use strict;
use warnings;

sub mean {
    my @numbers = @_;
    return unless @numbers;
    my $sum = 0;
    $sum += $_ for @numbers;
    return $sum / @numbers;
}

1;
