#include <cstdlib>
#include <iostream>

#include "ring.h"

int main(int argc, char **argv)
{
    ring ring = {};
    const int most = argc > 1 ? std::atoi(argv[1]) : 2;
    for (int i = 0; i < most; i++)
        ring_push(&ring, i * i);
    for (int item; ring_pop(&ring, &item);)
        std::cout << item << '\n';
}
