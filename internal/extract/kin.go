package extract

import "math"

// kin is the units of a page that stand in boxes of the same names: the
// prices of all cards, the texts of all posts.
type kin struct {
	n, size, links, words int
	squares               float64 // of sizes
	ui                    float64 // words of interfaces
	first, last           int     // units
	likely                float64 // words of it that the first forest took, see context
}

// grouped returns the group of each unit; units of the same key are one.
func (f *features) grouped(key func(*sums) uint64) []*kin {
	all := map[uint64]*kin{}
	of := make([]*kin, len(f.units))
	for i, u := range f.units {
		k := key(f.sums[u.box.at])
		g := all[k]
		if g == nil {
			g = &kin{first: i}
			all[k] = g
		}
		g.n++
		g.size += u.size
		g.links += u.links
		g.words += f.words[i+1] - f.words[i]
		g.squares += float64(u.size) * float64(u.size)
		g.ui += f.ui[i+1] - f.ui[i]
		g.last = i
		of[i] = g
	}
	return of
}

// findKin gathers the units whose boxes have the same names, once by the three
// nearest boxes and once by all.
func (f *features) findKin() {
	f.near = f.grouped(func(s *sums) uint64 { return s.names[0]*31*31 + s.names[1]*31 + s.names[2] })
	f.alike = f.grouped(func(s *sums) uint64 { return s.path })
}

// kinship is what is known of the group of unit i: how large it is, how much
// alike its members, and which of them this one is.
func (f *features) kinship(g *kin, i int) {
	n := len(f.units)
	mean := float64(g.size) / float64(g.n)
	deviation := math.Sqrt(max(g.squares/float64(g.n)-mean*mean, 0))
	f.add(lg(g.n), float32(mean), ratio(g.links, g.size), float32(g.ui/float64(max(g.words, 1))), ratio(g.size, f.chars[n]),
		float32(deviation/(mean+1)), ratio(g.last-g.first, n), ratio(i-g.first, g.last-g.first+1))
}

// nth is which of its parent's children the box of a unit is, and the
// same of the boxes around it.
func (f *features) nth(u *unit) {
	n := u.box
	for range 3 {
		if n.parent == nil {
			f.add(-1, -1)
			continue
		}
		s := f.sums[n.at]
		f.add(float32(min(s.nth, 50)), ratio(s.nth, max(s.of-1, 1)))
		n = f.sums[n.parent.at].around
	}
}

// nameHash is FNV-1a.
func nameHash(name string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return h
}
