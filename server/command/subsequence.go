package command

// subsequence is the longest common subsequence of two texts. The lengths L(i, j) for their first
// i and j bytes are computed row by row, with two rows in memory; what the way back needs of the
// rest is one bit a place: whether L(i-1, j) > L(i, j-1).
type subsequence struct {
	a, b   []byte
	length int
	upward []uint64 // bits, row by row, 1-based as i and j are; nil if only the length is wanted
	stride int      // words of a row
}

// commonRun is a stretch that is the same in both texts.
type commonRun struct{ a, b, length int }

// subsequenceFits reports whether Redis would compare two texts of these lengths: its memory for that is bounded by
// proto-max-bulk-len, by default to texts of 11,584 bytes each. We need a thirty-second of it, but refuse what Redis refuses.
func subsequenceFits(a, b int, stringLimit int64) bool {
	return uint64(a+1)*uint64(b+1)*4 <= uint64(stringLimit)
}

// compute finds the length, and with remember what runs and text need.
func (s *subsequence) compute(remember bool) {
	s.stride = (len(s.b) + 1 + 63) / 64
	if remember {
		s.upward = make([]uint64, (len(s.a)+1)*s.stride)
	}
	above, row := make([]uint32, len(s.b)+1), make([]uint32, len(s.b)+1)
	for i := 1; i <= len(s.a); i++ {
		letter := s.a[i-1]
		for j := 1; j <= len(s.b); j++ {
			switch up, left := above[j], row[j-1]; {
			case letter == s.b[j-1]:
				row[j] = above[j-1] + 1
			case up > left:
				row[j] = up
				if remember {
					s.upward[i*s.stride+j/64] |= 1 << (j % 64)
				}
			default:
				row[j] = left
			}
		}
		above, row = row, above
	}
	s.length = int(above[len(s.b)])
}

// walk goes the way back, from the ends of the texts, and calls visit with the position of each common byte.
func (s *subsequence) walk(visit func(i, j int)) {
	for i, j := len(s.a), len(s.b); i > 0 && j > 0; {
		switch {
		case s.a[i-1] == s.b[j-1]:
			i--
			j--
			visit(i, j)
		case s.upward[i*s.stride+j/64]>>(j%64)&1 == 1:
			i--
		default:
			j--
		}
	}
}

// text is the subsequence itself.
func (s *subsequence) text() []byte {
	text := make([]byte, s.length)
	at := s.length
	s.walk(func(i, _ int) {
		at--
		text[at] = s.a[i]
	})
	return text
}

// runs are the stretches that make up the subsequence, the last one first.
func (s *subsequence) runs() []commonRun {
	var runs []commonRun
	s.walk(func(i, j int) {
		if last := len(runs) - 1; last >= 0 && runs[last].a == i+1 && runs[last].b == j+1 {
			runs[last].a, runs[last].b = i, j
			runs[last].length++
			return
		}
		runs = append(runs, commonRun{i, j, 1})
	})
	return runs
}
