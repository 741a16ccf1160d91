#ifndef RING_H
#define RING_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RING_SIZE 4

struct ring {
    int items[RING_SIZE];
    size_t first, count;
};

int ring_push(struct ring *ring, int item);
int ring_pop(struct ring *ring, int *item);

#ifdef __cplusplus
}
#endif

#endif
