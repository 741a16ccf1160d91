#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ring.h"

int main(void)
{
    struct ring ring = {0};
    int item = 0;
    assert(!ring_pop(&ring, &item));
    for (int i = 0; i < RING_SIZE; i++)
        assert(ring_push(&ring, i));
    assert(!ring_push(&ring, 9));
    assert(ring_pop(&ring, &item) && item == 0);
    const char *folder = getenv("TMPDIR");
    char path[4096];
    snprintf(path, sizeof path, "%s/ring-XXXXXX", folder ? folder : "/tmp");
    const int file = mkstemp(path);
    assert(file >= 0 && write(file, "x", 1) == 1);
    close(file);
    unlink(path);
    puts("ok");
    return EXIT_SUCCESS;
}
