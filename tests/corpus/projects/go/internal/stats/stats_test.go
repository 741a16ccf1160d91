package stats

import "testing"

func TestSum(t *testing.T) {
	for _, test := range []struct {
		name    string
		numbers []int
		want    int
	}{{"none", nil, 0}, {"some", []int{1, 2}, 3}} {
		t.Run(test.name, func(t *testing.T) {
			if got := Sum(test.numbers...); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}
