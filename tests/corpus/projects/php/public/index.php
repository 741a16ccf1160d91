<?php

require __DIR__ . '/../src/Template.php';

header('Content-Type: text/plain');
echo (new Mailer\Template("Hello {name}\n"))->fill(['name' => $_GET['name'] ?? 'you']);
