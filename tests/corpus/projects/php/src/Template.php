<?php

declare(strict_types=1);

namespace Mailer;

final class Template
{
    public function __construct(private string $text)
    {
    }

    /** @param array<string, string> $values */
    public function fill(array $values): string
    {
        return preg_replace_callback(
            '/\{(\w+)\}/',
            fn (array $match): string => $values[$match[1]] ?? $match[0],
            $this->text
        );
    }
}
