// Package queue is a bounded queue.
package queue

import "errors"

// ErrFull is returned by Push when there is no place.
var ErrFull = errors.New("queue is full")

// Queue is a bounded queue.
type Queue struct {
	items []int
	limit int
}

// New makes a queue for limit items.
func New(limit int) *Queue { return &Queue{limit: limit} }

// Push adds an item.
func (q *Queue) Push(item int) error {
	if len(q.items) == q.limit {
		return ErrFull
	}
	q.items = append(q.items, item)
	return nil
}

// Pop takes the oldest item.
func (q *Queue) Pop() (int, bool) {
	if len(q.items) == 0 {
		return 0, false
	}
	item := q.items[0]
	q.items = q.items[1:]
	return item, true
}
