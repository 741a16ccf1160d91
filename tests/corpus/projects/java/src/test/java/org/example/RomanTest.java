package org.example;

import java.nio.file.Files;
import java.nio.file.Path;

/** Tests without a framework. */
public final class RomanTest {
    public static void main(String[] args) throws Exception {
        check("IV", Roman.of(4));
        check("MCMXCIX", Roman.of(1999));
        try {
            Roman.of(0);
            throw new AssertionError("0 was accepted");
        } catch (IllegalArgumentException expected) {
            check("not positive: 0", expected.getMessage());
        }
        Path file = Files.createTempFile("roman", ".txt");
        Files.writeString(file, Roman.of(14));
        check("XIV", Files.readString(file));
        Files.delete(file);
        System.out.println("4 tests passed");
    }

    private static void check(String wanted, String got) {
        if (!wanted.equals(got)) {
            throw new AssertionError("wanted " + wanted + ", got " + got);
        }
    }
}
