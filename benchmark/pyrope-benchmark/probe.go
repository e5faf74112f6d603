package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// configuration is what the report says of the server's persistence.
type configuration struct {
	known            bool
	save, appendOnly string
}

// probe asks the server for its configuration. A server that does not tell is no failure, one that
// refuses to be talked to is.
func (o *options) probe() (c configuration, err error) {
	conn, err := o.dial()
	if err != nil {
		return c, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(dialTimeout)); err != nil {
		return c, fmt.Errorf("cannot ask the server: %w", err)
	}
	in := bufio.NewReader(conn)
	ask := func(arguments ...string) ([]string, error) {
		var t template
		t.append(arguments, "", false)
		if _, err := conn.Write(t.bytes); err != nil {
			return nil, fmt.Errorf("cannot ask the server: %w", err)
		}
		return readStrings(in)
	}
	var refusal refusedError
	if o.Password != "" {
		if _, err := ask(o.authenticate()...); errors.As(err, &refusal) {
			//lint:ignore ST1005 as redis-benchmark says it
			return c, fmt.Errorf("Node %s replied with error:\n%w", o.address(), err)
		} else if err != nil {
			return c, err
		}
	}
	values := make([]string, 2)
	for i, name := range []string{"save", "appendonly"} {
		pair, err := ask("CONFIG", "GET", name)
		switch {
		case errors.As(err, &refusal) && strings.HasPrefix(string(refusal), "NOAUTH"):
			//lint:ignore ST1005 as redis-benchmark says it
			return c, fmt.Errorf("Node %s replied with error:\n%w", o.address(), err)
		case errors.As(err, &refusal) || err == nil && len(pair) < 2:
			return configuration{}, nil
		case err != nil:
			return c, err
		}
		values[i] = pair[1]
	}
	return configuration{true, values[0], values[1]}, nil
}

// refusedError is the text of an error reply.
type refusedError string

// Error implements error.
func (e refusedError) Error() string { return string(e) }

// probeBytesLimit bounds a string that the server sends in answer to a question.
const probeBytesLimit = 1 << 20

// readStrings reads a reply that is one string or an array of strings.
func readStrings(in *bufio.Reader) ([]string, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("cannot read the server's answer: %w", err)
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return nil, errors.New("cannot read the server's answer: it is an empty line")
	}
	switch line[0] {
	case '-':
		return nil, refusedError(line[1:])
	case '+', ':':
		return []string{line[1:]}, nil
	}
	n, err := strconv.Atoi(line[1:])
	if err != nil || n > probeBytesLimit || line[0] != '$' && line[0] != '*' {
		return nil, fmt.Errorf("cannot read the server's answer: it begins with %q", line)
	}
	if line[0] == '$' {
		if n < 0 {
			return []string{""}, nil
		}
		text := make([]byte, n+2)
		if _, err := io.ReadFull(in, text); err != nil {
			return nil, fmt.Errorf("cannot read the server's answer: %w", err)
		}
		return []string{string(text[:n])}, nil
	}
	var all []string
	for range max(n, 0) {
		element, err := readStrings(in)
		if err != nil {
			return nil, err
		}
		all = append(all, element...)
	}
	return all, nil
}
