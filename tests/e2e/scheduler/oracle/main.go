// SPDX-License-Identifier: Apache-2.0

// The oracle answers scheduling problems with the real kube-scheduler's own code: what its plugins
// say about every node, their scores, the node it picks and the victims it would choose. Problems
// and answers have the parity format, one JSON object a line (CONTRIBUTING.md says where recorded
// ones are looked for).
//
//	oracle answer [FILE]                 answers each case as soon as it was read; - or nothing: standard input
//	oracle generate PROFILE COUNT SEED   prints random cases
//	oracle compare EXPECTED ACTUAL       tells where two files of answers differ
package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"

	"k8s.io/klog/v2"
)

func main() {
	klog.SetLogger(klog.Logger{}) // what plugins log is no part of an answer
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) >= 1 && len(args) <= 2 && args[0] == "answer":
		in := os.Stdin
		if len(args) == 2 && args[1] != "-" {
			file, err := os.Open(args[1])
			if err != nil {
				return err
			}
			defer file.Close()
			in = file
		}
		return answerAll(in, os.Stdout)
	case len(args) == 4 && args[0] == "generate":
		count, err := strconv.Atoi(args[2])
		if err != nil {
			return fmt.Errorf("COUNT: %w", err)
		}
		seed, err := strconv.ParseUint(args[3], 10, 64)
		if err != nil {
			return fmt.Errorf("SEED: %w", err)
		}
		return generate(args[1], count, seed, os.Stdout)
	case len(args) == 3 && args[0] == "compare":
		return compare(args[1], args[2], os.Stdout)
	}
	return fmt.Errorf("usage: oracle answer [FILE] | oracle generate PROFILE COUNT SEED (profiles: %v) | oracle compare EXPECTED ACTUAL", profileNames())
}

// answerAll reads plain or gzip lines. Answers are flushed one by one, so a caller can ask, wait and ask again.
func answerAll(in io.Reader, out io.Writer) error {
	lines := bufio.NewReaderSize(in, 1<<20)
	if head, _ := lines.Peek(2); len(head) == 2 && head[0] == 0x1f && head[1] == 0x8b {
		unpacked, err := gzip.NewReader(lines)
		if err != nil {
			return err
		}
		lines = bufio.NewReaderSize(unpacked, 1<<20)
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			var problem Case
			if err := json.Unmarshal(line, &problem); err != nil {
				return fmt.Errorf("reading a case: %w", err)
			}
			reply, err := answer(&problem)
			if err != nil {
				reply = &Answer{ID: problem.ID, Error: err.Error()}
			}
			if err := encoder.Encode(reply); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
