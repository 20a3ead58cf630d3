// Command egress measures the egress proxy beside Stripe's smokescreen, a bare
// relay of two sockets and direct dialing, in one run on loopback. Each is a
// process of its own; they are measured by turns, in rounds, and what is told of
// two of them is the median of the ratios within a round: on a busy machine
// rounds differ more than the proxies do.
//
// From the root of the repository: make bench-egress
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

var (
	rounds  = flag.Int("rounds", 9, "rounds")
	setUps  = flag.Int("setups", 500, "tunnels opened one after the other, in one round")
	clients = flag.Int("clients", 8, "clients that open tunnels at once")
	mib     = flag.Int64("mib", 512, "MiB that come through one tunnel, or through 64")
	idlers  = flag.Int("idle", 1000, "idle tunnels")
	only    = flag.String("only", "", "measure only this: set-up, rate, idle, cost, bulk 1 or bulk 64")
)

func main() {
	flag.Parse()
	if flag.NArg() == 3 && flag.Arg(0) == "role" {
		if err := play(flag.Arg(1), flag.Arg(2)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// process is a role that runs.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader

	addr, origin string
}

func start(role, origin string) (*process, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(exe, "role", role, origin), origin: origin}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := p.out.ReadString('\n')
	p.addr = strings.TrimSpace(line)
	if err != nil {
		p.close()
		return nil, fmt.Errorf("%s did not start: %w", role, err)
	}
	return p, nil
}

func (p *process) usage() (u usage, err error) {
	if _, err = io.WriteString(p.in, "\n"); err != nil {
		return u, err
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return u, err
	}
	return u, json.Unmarshal(line, &u)
}

func (p *process) close() {
	p.in.Close()
	p.cmd.Wait()
}

// samples are the values of a measure, by way, one each round.
type samples map[string][]float64

// measure takes values of some ways, by the name of the value and by way.
type measure struct {
	name string
	ways []string
	take func(ways []*way) (map[string]map[string]float64, error)
}

func run(out io.Writer) error {
	origin, err := start("origin", "-")
	if err != nil {
		return err
	}
	defer origin.close()
	ways := map[string]*way{"direct": {name: "direct", addr: origin.addr, process: origin}}
	for _, role := range []string{"relay", "smokescreen", "bellglass"} {
		p, err := start(role, origin.addr)
		if err != nil {
			return err
		}
		defer p.close()
		ways[role] = &way{name: role, addr: p.addr, connect: role != "relay", process: p}
	}
	found := map[string]samples{}
	for round := range *rounds {
		for _, m := range measures() {
			if *only != "" && *only != m.name {
				continue
			}
			turn := make([]*way, len(m.ways))
			for i := range m.ways { // another one begins in each round
				turn[i] = ways[m.ways[(i+round)%len(m.ways)]]
			}
			values, err := m.take(turn)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			for name, by := range values {
				if found[name] == nil {
					found[name] = samples{}
				}
				for w, v := range by {
					found[name][w] = append(found[name][w], v)
				}
			}
		}
	}
	return report(out, found)
}

func measures() []measure {
	proxies := []string{"smokescreen", "bellglass"}
	everybody := append([]string{"direct", "relay"}, proxies...)
	list := []measure{
		{"set-up", everybody, func(ways []*way) (map[string]map[string]float64, error) {
			times, err := latencies(ways, *setUps)
			v := map[string]map[string]float64{"p50": {}, "p99": {}}
			for w, t := range times {
				v["p50"][w] = float64(t[len(t)/2].Nanoseconds()) / 1e3
				v["p99"][w] = float64(t[len(t)*99/100].Nanoseconds()) / 1e3
			}
			return v, err
		}},
		{"rate", everybody, each(func(w *way) (map[string]float64, error) {
			r, err := w.rate(*clients, *setUps/4)
			return map[string]float64{"rate": r}, err
		})},
		{"idle", proxies, each(func(w *way) (map[string]float64, error) {
			b, err := w.idle(*idlers)
			return map[string]float64{"idle": b / 1024}, err
		})},
		{"cost", proxies, each(func(w *way) (map[string]float64, error) {
			n, b, t, err := w.cost(*setUps, w.setUps)
			if err != nil {
				return nil, err
			}
			hn, hb, ht, err := w.cost(*setUps, w.gets)
			return map[string]float64{"tunnel allocs": n, "tunnel bytes": b, "tunnel cpu": t, "http allocs": hn, "http bytes": hb, "http cpu": ht}, err
		})},
	}
	for _, tunnels := range []int{1, 64} {
		list = append(list, measure{fmt.Sprintf("bulk %d", tunnels), everybody, func(ways []*way) (map[string]map[string]float64, error) {
			rates, costs, err := bulks(ways, tunnels, *mib)
			return map[string]map[string]float64{fmt.Sprintf("bulk %d", tunnels): rates, fmt.Sprintf("bulk cpu %d", tunnels): costs}, err
		}})
	}
	return list
}

// pieces is how often the ways take turns within one measure of bulk: what else
// the machine does comes and goes in fractions of a second.
const pieces = 8

// bulks returns the MiB a second that come through some tunnels, by way, and
// the milliseconds of processor time that the process between takes for a GiB.
func bulks(ways []*way, tunnels int, mib int64) (rates, costs map[string]float64, err error) {
	took, cpu := map[string]time.Duration{}, map[string]float64{}
	for i := range pieces {
		for j := range ways {
			w := ways[(i+j)%len(ways)]
			t, micros, err := w.bulk(tunnels, mib<<20/pieces)
			if err != nil {
				return nil, nil, err
			}
			took[w.name] += t
			cpu[w.name] += micros
		}
	}
	rates, costs = map[string]float64{}, map[string]float64{}
	for name, t := range took {
		rates[name] = float64(mib) / t.Seconds()
		if name != "direct" {
			costs[name] = cpu[name] / 1e3 * 1024 / float64(mib)
		}
	}
	return rates, costs, nil
}

// each measures one way after the other.
func each(take func(*way) (map[string]float64, error)) func([]*way) (map[string]map[string]float64, error) {
	return func(ways []*way) (map[string]map[string]float64, error) {
		all := map[string]map[string]float64{}
		for _, w := range ways {
			values, err := take(w)
			if err != nil {
				return nil, err
			}
			for name, v := range values {
				if all[name] == nil {
					all[name] = map[string]float64{}
				}
				all[name][w.name] = v
			}
		}
		return all, nil
	}
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	if len(v) == 0 {
		return 0
	}
	return v[len(v)/2]
}

// pairs returns f of the values of two ways in the same round.
func (s samples) pairs(a, b string, f func(a, b float64) float64) []float64 {
	out := make([]float64, 0, len(s[a]))
	for i := range min(len(s[a]), len(s[b])) {
		out = append(out, f(s[a][i], s[b][i]))
	}
	return out
}

func ratio(a, b float64) float64      { return a / b }
func difference(a, b float64) float64 { return a - b }

// report writes the table, and which targets are met.
func report(out io.Writer, found map[string]samples) error {
	fmt.Fprintf(out, "%s, %s, %d processors, %d rounds; medians\n\n", time.Now().UTC().Format("2006-01-02"), runtime.Version(), runtime.NumCPU(), *rounds)
	fmt.Fprintln(out, "| | direct | bare relay | smokescreen | bellglass | bellglass beside |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|")
	row := func(title, name, format, beside string) {
		s := found[name]
		if len(s) == 0 { // not measured
			return
		}
		fmt.Fprintf(out, "| %s |", title)
		for _, w := range []string{"direct", "relay", "smokescreen", "bellglass"} {
			if len(s[w]) == 0 {
				fmt.Fprint(out, " |")
				continue
			}
			fmt.Fprintf(out, " "+format+" |", median(s[w]))
		}
		fmt.Fprintf(out, " %s |\n", beside)
	}
	times := func(name, other string) string {
		return fmt.Sprintf("%.2f × %s", median(found[name].pairs("bellglass", other, ratio)), map[string]string{"relay": "the bare relay", "smokescreen": "smokescreen"}[other])
	}
	row("tunnel set-up, p50, µs", "p50", "%.0f", times("p50", "smokescreen"))
	row("tunnel set-up, p99, µs", "p99", "%.0f", times("p99", "smokescreen"))
	for _, p := range []string{"p50", "p99"} {
		added := samples{}
		for _, w := range []string{"relay", "smokescreen", "bellglass"} {
			added[w] = found[p].pairs(w, "direct", difference)
		}
		found["added "+p] = added
		row("added to direct dialing, "+p+", µs", "added "+p, "%.0f", "")
	}
	row(fmt.Sprintf("tunnels per second, %d clients", *clients), "rate", "%.0f", times("rate", "smokescreen"))
	row("bulk, 1 tunnel, MiB/s", "bulk 1", "%.0f", times("bulk 1", "relay")+", "+times("bulk 1", "smokescreen"))
	row("bulk, 64 tunnels, MiB/s", "bulk 64", "%.0f", times("bulk 64", "relay")+", "+times("bulk 64", "smokescreen"))
	row("processor time per GiB, 1 tunnel, ms", "bulk cpu 1", "%.0f", times("bulk cpu 1", "relay")+", "+times("bulk cpu 1", "smokescreen"))
	row("processor time per GiB, 64 tunnels, ms", "bulk cpu 64", "%.0f", times("bulk cpu 64", "relay")+", "+times("bulk cpu 64", "smokescreen"))
	row("processor time per tunnel, µs", "tunnel cpu", "%.0f", times("tunnel cpu", "smokescreen"))
	row("processor time per plain http request, µs", "http cpu", "%.0f", times("http cpu", "smokescreen"))
	row("resident memory per idle tunnel, KiB", "idle", "%.1f", times("idle", "smokescreen"))
	row("allocations per tunnel", "tunnel allocs", "%.0f", times("tunnel allocs", "smokescreen"))
	row("allocated per tunnel, bytes", "tunnel bytes", "%.0f", times("tunnel bytes", "smokescreen"))
	row("allocations per plain http request", "http allocs", "%.0f", times("http allocs", "smokescreen"))
	row("allocated per plain http request, bytes", "http bytes", "%.0f", times("http bytes", "smokescreen"))
	fmt.Fprintln(out)
	if *only != "" {
		return nil
	}
	return targets(out, found)
}

// targets tells which are met. A missed one is no error: a machine may be busy.
func targets(out io.Writer, found map[string]samples) error {
	beside := func(name, other string) float64 { return median(found[name].pairs("bellglass", other, ratio)) }
	for _, t := range []struct {
		what string
		met  bool
	}{
		{"set-up latency at most smokescreen's", beside("p50", "smokescreen") <= 1},
		{"bulk of 1 tunnel at least 0.9 of the bare relay's", beside("bulk 1", "relay") >= 0.9},
		{"bulk of 64 tunnels at least 0.9 of the bare relay's", beside("bulk 64", "relay") >= 0.9},
		{"bulk at least smokescreen's", beside("bulk 1", "smokescreen") >= 1 && beside("bulk 64", "smokescreen") >= 1},
		{"at most 40 KiB for an idle tunnel", median(found["idle"]["bellglass"]) <= 40},
	} {
		word := "met"
		if !t.met {
			word = "MISSED"
		}
		if _, err := fmt.Fprintf(out, "- %s: %s\n", t.what, word); err != nil {
			return err
		}
	}
	return nil
}
