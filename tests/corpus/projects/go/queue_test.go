package queue

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestOrder(t *testing.T) {
	q := New(2)
	for _, item := range []int{1, 2} {
		if err := q.Push(item); err != nil {
			t.Fatal(err)
		}
	}
	if item, ok := q.Pop(); !ok || item != 1 {
		t.Fatalf("got %d, %v", item, ok)
	}
}

func TestFull(t *testing.T) {
	if err := New(0).Push(1); !errors.Is(err, ErrFull) {
		t.Fatalf("got %v", err)
	}
}

func TestTempDir(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkPush(b *testing.B) {
	q := New(b.N)
	for i := 0; i < b.N; i++ {
		_ = q.Push(i)
	}
}

func ExampleNew() {
	q := New(1)
	fmt.Println(q.Push(1), q.Push(2))
	// Output: <nil> queue is full
}
