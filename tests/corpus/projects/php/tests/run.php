<?php

declare(strict_types=1);

require __DIR__ . '/../src/Template.php';

use Mailer\Template;

$failed = 0;
$check = function (string $wanted, string $got) use (&$failed): void {
    if ($wanted !== $got) {
        $failed++;
        echo "wanted $wanted, got $got\n";
    }
};
$check('Dear Ada', (new Template('Dear {name}'))->fill(['name' => 'Ada']));
$check('{x}', (new Template('{x}'))->fill([]));
$file = tempnam(sys_get_temp_dir(), 'mail');
file_put_contents($file, 'x');
$check('x', file_get_contents($file));
unlink($file);
echo $failed === 0 ? "3 tests passed\n" : "$failed failed\n";
exit($failed === 0 ? 0 : 1);
