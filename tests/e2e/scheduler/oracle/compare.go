// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sort"
	"strings"
)

// compare tells where answers differ: verdicts, plugins, codes, reasons (as sets), scores, totals, the chosen node and
// the order of nodes, candidates and victims must be equal; the node that preemption chooses must be one of the ties.
// Plugins in the scores that the expected answer does not have, and `via`, do not matter.
func compare(expected, actual string, out io.Writer) error {
	want, err := readAnswers(expected)
	if err != nil {
		return err
	}
	got, err := readAnswers(actual)
	if err != nil {
		return err
	}
	bad, shown := 0, 0
	for _, id := range slices.Sorted(maps.Keys(want)) {
		differences := []string{"no answer for this case"}
		if answer := got[id]; answer != nil {
			differences = differ(want[id], answer)
		}
		if len(differences) > 0 {
			bad++
		}
		for _, difference := range differences {
			if shown++; shown <= 20 {
				fmt.Fprintf(out, "%s: %s\n", id, difference)
			}
		}
	}
	fmt.Fprintf(out, "%d of %d cases agree\n", len(want)-bad, len(want))
	if bad > 0 || len(want) == 0 {
		return errors.New("the answers differ")
	}
	return nil
}

func readAnswers(path string) (map[string]*Answer, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var in io.Reader = bufio.NewReader(file)
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(file); err != nil {
			return nil, err
		}
	}
	out := map[string]*Answer{}
	for decoder := json.NewDecoder(in); ; {
		answer := &Answer{}
		if err := decoder.Decode(answer); err == io.EOF {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out[answer.ID] = answer
	}
}

func (v Verdict) text() string {
	if v.Fits {
		return "fits"
	}
	reasons := append([]string{}, v.Reasons...)
	sort.Strings(reasons)
	return fmt.Sprintf("%s %s %q", v.Plugin, v.Code, reasons)
}

func differ(want, got *Answer) []string {
	var out []string
	tell := func(what, want, got string) {
		if want != got {
			out = append(out, fmt.Sprintf("%s: want %s, got %s", what, want, got))
		}
	}
	if tell("error", want.Error, got.Error); len(out) > 0 || want.Error != "" {
		return out
	}
	if tell("preFilter", want.PreFilter.text(), got.PreFilter.text()); len(out) > 0 {
		return out
	}
	for _, node := range slices.Sorted(maps.Keys(want.Filter)) {
		tell("filter "+node, want.Filter[node].text(), got.Filter[node].text())
	}
	for _, node := range slices.Sorted(maps.Keys(want.Totals)) {
		for _, plugin := range slices.Sorted(maps.Keys(want.Scores[node])) {
			score, there := got.Scores[node][plugin]
			tell("score "+node+" "+plugin, fmt.Sprint(want.Scores[node][plugin], true), fmt.Sprint(score, there))
		}
		tell("total "+node, fmt.Sprint(want.Totals[node]), fmt.Sprint(got.Totals[node]))
	}
	if want.Chosen != "" {
		tell("chosen", want.Chosen, got.Chosen)
		tell("order", fmt.Sprint(want.Order), fmt.Sprint(got.Order))
	}
	if want.Preemption == nil {
		return out
	}
	if got.Preemption == nil {
		return append(out, "no answer about preemption")
	}
	tell("eligible", fmt.Sprint(want.Preemption.Eligible), fmt.Sprint(got.Preemption.Eligible))
	tell("candidates", want.Preemption.candidates(), got.Preemption.candidates())
	if want.Preemption.Chosen != "" && !slices.Contains(want.Preemption.Ties, got.Preemption.Chosen) {
		tell("preempting on", fmt.Sprint("one of ", want.Preemption.Ties), got.Preemption.Chosen)
	}
	return out
}

func (p *Preemption) candidates() string {
	var out []string
	for _, candidate := range p.Candidates {
		victims := append([]string{}, candidate.Victims...)
		sort.Strings(victims)
		out = append(out, fmt.Sprint(candidate.Node, victims, candidate.PDBViolations))
	}
	sort.Strings(out)
	return fmt.Sprint(out)
}
