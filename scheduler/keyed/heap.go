package keyed

import "iter"

// Heap returns its values in the order of their keys. Values with equal keys come in any order. The zero value is empty. A Heap is
// not safe for concurrent use.
type Heap[T any] struct{ items []item[T] }

type item[T any] struct {
	key   int64
	value T
}

// Grow makes room for n more values.
func (h *Heap[T]) Grow(n int) {
	if room := make([]item[T], len(h.items), len(h.items)+n); cap(room) > cap(h.items) {
		copy(room, h.items)
		h.items = room
	}
}

// Len returns the number of values.
func (h *Heap[T]) Len() int { return len(h.items) }

// Push adds a value.
func (h *Heap[T]) Push(key int64, value T) {
	h.items = append(h.items, item[T]{})
	h.up(len(h.items)-1, item[T]{key, value})
}

// Min returns the value with the lowest key. The heap must not be empty.
func (h *Heap[T]) Min() (key int64, value T) { return h.items[0].key, h.items[0].value }

// Pop removes and returns the value with the lowest key. The heap must not be empty.
func (h *Heap[T]) Pop() (key int64, value T) {
	least, last := h.items[0], len(h.items)-1
	moved := h.items[last]
	h.items[last] = item[T]{} // drops the reference
	if h.items = h.items[:last]; last > 0 {
		h.down(moved)
	}
	return least.key, least.value
}

// up puts x at index i, or nearer to the root.
func (h *Heap[T]) up(i int, x item[T]) {
	for i > 0 {
		parent := (i - 1) / 2
		if h.items[parent].key <= x.key {
			break
		}
		h.items[i] = h.items[parent]
		i = parent
	}
	h.items[i] = x
}

// down puts x at the root, or farther from it.
func (h *Heap[T]) down(x item[T]) {
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h.items) {
			break
		}
		if next := child + 1; next < len(h.items) && h.items[next].key < h.items[child].key {
			child = next
		}
		if h.items[child].key >= x.key {
			break
		}
		h.items[i] = h.items[child]
		i = child
	}
	h.items[i] = x
}

// Ascending returns the values in the order of their keys, and leaves them in the heap, which must not change meanwhile. To visit
// the first n values takes n·log n steps, however long the heap is.
func (h *Heap[T]) Ascending() iter.Seq2[int64, T] {
	return func(yield func(int64, T) bool) {
		var next Heap[int] // indices of values whose parents were visited
		if len(h.items) > 0 {
			next.Push(h.items[0].key, 0)
		}
		for next.Len() > 0 {
			key, i := next.Pop()
			if !yield(key, h.items[i].value) {
				return
			}
			for child := 2*i + 1; child <= 2*i+2 && child < len(h.items); child++ {
				next.Push(h.items[child].key, child)
			}
		}
	}
}
