package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// fakeServer is a RESP server of a few commands over a map, with faults on request.
type fakeServer struct {
	listener net.Listener
	password string
	drop     func(key string) bool    // writes of these keys are lost
	corrupt  func(key string) bool    // reads of these keys come back wrong
	refuse   func(name string) string // error text instead of the command's reply

	mu     sync.Mutex
	values map[string]string
	names  map[string]int    // commands seen
	last   map[string]string // arguments of the last command of some names
}

// startFakeServer starts a server that ends with the test.
func startFakeServer(t *testing.T) *fakeServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &fakeServer{listener: listener, values: map[string]string{}, names: map[string]int{}, last: map[string]string{}}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() { listener.Close(); group.Wait() })
	return s
}

// port is where the server listens.
func (s *fakeServer) port() string {
	return strconv.Itoa(s.listener.Addr().(*net.TCPAddr).Port)
}

// serve answers one connection until it ends.
func (s *fakeServer) serve(conn net.Conn) {
	defer conn.Close()
	in, out := bufio.NewReader(conn), bufio.NewWriter(conn)
	authenticated := false
	for {
		arguments, err := readCommand(in)
		if err != nil {
			return
		}
		name := strings.ToUpper(arguments[0])
		switch {
		case name == "AUTH":
			authenticated = arguments[1] == s.password
			if authenticated {
				out.WriteString("+OK\r\n")
			} else {
				out.WriteString("-WRONGPASS no\r\n")
			}
		case !authenticated && s.password != "":
			out.WriteString("-NOAUTH Authentication required.\r\n")
		default:
			s.answer(out, name, arguments[1:])
		}
		if in.Buffered() == 0 || name == "QUIT" {
			if out.Flush() != nil || name == "QUIT" {
				return
			}
		}
	}
}

// answer carries out one command.
func (s *fakeServer) answer(out *bufio.Writer, name string, arguments []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[name]++
	if s.refuse != nil {
		if text := s.refuse(name); text != "" {
			fmt.Fprintf(out, "-%s\r\n", text)
			return
		}
	}
	switch name {
	case "PING":
		out.WriteString("+PONG\r\n")
	case "GET":
		s.writeValue(out, arguments[0])
	case "MGET":
		fmt.Fprintf(out, "*%d\r\n", len(arguments))
		for _, key := range arguments {
			s.writeValue(out, key)
		}
	case "SET":
		s.set(arguments[0], arguments[1])
		out.WriteString("+OK\r\n")
	case "EXPIRE":
		out.WriteString(":1\r\n")
	case "SETEX":
		s.set(arguments[0], arguments[2])
		out.WriteString("+OK\r\n")
	case "MSET":
		for i := 0; i < len(arguments); i += 2 {
			s.set(arguments[i], arguments[i+1])
		}
		out.WriteString("+OK\r\n")
	case "INCR":
		n, _ := strconv.ParseInt(s.values[arguments[0]], 10, 64)
		s.set(arguments[0], strconv.FormatInt(n+1, 10))
		fmt.Fprintf(out, ":%d\r\n", n+1)
	case "DEL":
		_, found := s.values[arguments[0]]
		delete(s.values, arguments[0])
		fmt.Fprintf(out, ":%d\r\n", map[bool]int{true: 1}[found])
	case "EXISTS":
		found := 0
		for _, key := range arguments {
			if _, is := s.values[key]; is {
				found++
			}
		}
		fmt.Fprintf(out, ":%d\r\n", found)
	case "ZADD", "ZREM", "ZCARD", "SETBIT", "GETBIT", "BITCOUNT", "BITPOS", "BITOP", "BITFIELD", "PFADD", "PFCOUNT", "PFMERGE", "GEOADD", "PUBLISH", "SPUBLISH":
		s.last[name] = strings.Join(arguments, " ")
		out.WriteString(":1\r\n")
	case "SAVE", "WATCH", "MULTI":
		out.WriteString("+OK\r\n")
	case "EXEC":
		out.WriteString("*2\r\n+OK\r\n+OK\r\n")
	case "DBSIZE":
		fmt.Fprintf(out, ":%d\r\n", len(s.values))
	case "QUIT":
		out.WriteString("+OK\r\n")
	default:
		fmt.Fprintf(out, "-ERR unknown command '%s'\r\n", name)
	}
}

// set stores a value, unless it is to be lost.
func (s *fakeServer) set(key, value string) {
	if s.drop == nil || !s.drop(key) {
		s.values[key] = value
	}
}

// writeValue answers a read of one key.
func (s *fakeServer) writeValue(out *bufio.Writer, key string) {
	value, found := s.values[key]
	if !found {
		out.WriteString("$-1\r\n")
		return
	}
	if s.corrupt != nil && s.corrupt(key) {
		value = value[:len(value)-1] + "?"
	}
	fmt.Fprintf(out, "$%d\r\n%s\r\n", len(value), value)
}

// readCommand reads an array of bulk strings, or an inline command.
func readCommand(in *bufio.Reader) ([]string, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line[0] != '*' {
		return strings.Fields(line), nil
	}
	count, err := strconv.Atoi(line[1:])
	if err != nil {
		return nil, err
	}
	arguments := make([]string, count)
	for i := range arguments {
		header, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		length, err := strconv.Atoi(strings.TrimSpace(header[1:]))
		if err != nil || header[0] != '$' {
			return nil, fmt.Errorf("bad header %q", header)
		}
		text := make([]byte, length+2)
		if _, err := io.ReadFull(in, text); err != nil {
			return nil, err
		}
		arguments[i] = string(text[:length])
	}
	return arguments, nil
}
