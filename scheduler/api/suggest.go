package api

// closest returns the candidate that word was most likely meant to be, or "" if none is near.
func closest(word string, candidates []string) string {
	best, distance := "", max(1, len(word)/3)+1
	for _, c := range candidates {
		if c == word {
			continue
		}
		if d := editDistance(word, c); d < distance {
			best, distance = c, d
		}
	}
	return best
}

// editDistance counts the bytes to insert, delete or replace to make b of a.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
