// Package stats adds up.
package stats

// Sum adds up.
func Sum(numbers ...int) (sum int) {
	for _, number := range numbers {
		sum += number
	}
	return sum
}
