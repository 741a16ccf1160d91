package org.example;

/** Roman numerals. */
public final class Roman {
    private static final int[] VALUES = {1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1};
    private static final String[] SIGNS = {
        "M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"
    };

    private Roman() {}

    public static String of(int number) {
        if (number < 1) {
            throw new IllegalArgumentException("not positive: " + number);
        }
        StringBuilder text = new StringBuilder();
        for (int at = 0; at < VALUES.length; at++) {
            while (number >= VALUES[at]) {
                text.append(SIGNS[at]);
                number -= VALUES[at];
            }
        }
        return text.toString();
    }

    public static void main(String[] args) {
        for (String arg : args) {
            System.out.println(of(Integer.parseInt(arg)));
        }
    }
}
