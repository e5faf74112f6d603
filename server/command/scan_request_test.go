package command

import (
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/server/resp"
)

func TestScanGet(t *testing.T) {
	for _, key := range []string{"", "k", "key", strings.Repeat("x", 9), strings.Repeat("x", 10), strings.Repeat("y", 1000), "a\r\nb", "\x00\xff"} {
		for _, name := range []string{"GET", "get", "gEt"} {
			whole := request(name, key)
			got, used := scanGet([]byte(whole + "*2\r\n"))
			if string(got) != key || used != len(whole) {
				t.Errorf("scanGet(%q) = %q, %d", whole, got, used)
			}
			for cut := range whole {
				if _, used := scanGet([]byte(whole[:cut])); used != 0 {
					t.Errorf("scanGet took the incomplete %q", whole[:cut])
				}
			}
		}
	}
	for _, other := range []string{
		"*2\r\n$3\r\nGEX\r\n$1\r\nk\r\n", "*2\r\n$3\r\nGET\r\n$01\r\nk\r\n", "*2\r\n$3\r\nGET\r\n$-1\r\nk\r\n",
		"*2\r\n$3\r\nGET\r\n$\r\nk\r\n", "*2\r\n$3\r\nGET\r\n$1\rxk\r\n", "*2\r\n$3\r\nGET\r\n$1\r\nkx\n",
		"*2\r\n$3\r\nGET\r\n$9999999\r\nk\r\n", "*2\r\n$3\r\nSET\r\n$1\r\nk\r\n", "*2\r\n$4\r\nMGET\r\n$1\r\nk\r\n",
		"*2\r\n$3\r\nG\x45\x74\x2d\n$1\r\nk\r\n", "GET k\r\n", "",
	} {
		if key, used := scanGet([]byte(other)); used != 0 {
			t.Errorf("scanGet(%q) = %q, %d; want it left to the parser", other, key, used)
		}
	}
}

func TestScanSet(t *testing.T) {
	for _, key := range []string{"", "k", strings.Repeat("k", 100)} {
		for _, value := range []string{"", "v", "a\r\nb", strings.Repeat("v", 10_000)} {
			whole := request("sEt", key, value)
			gotKey, gotValue, used := scanSet([]byte(whole + "*3\r\n"))
			if string(gotKey) != key || string(gotValue) != value || used != len(whole) {
				t.Errorf("scanSet(%.40q) = %.40q, %.40q, %d", whole, gotKey, gotValue, used)
			}
			for cut := range len(whole) {
				if _, _, used := scanSet([]byte(whole[:cut])); used != 0 {
					t.Errorf("scanSet took the incomplete %.60q", whole[:cut])
				}
			}
		}
	}
	for _, other := range []string{
		request("GET", "k"), request("SET", "k"), request("SET", "k", "v", "NX"), request("SEX", "k", "v"),
		"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n:1\r\n", "SET k v\r\n",
	} {
		if _, _, used := scanSet([]byte(other)); used != 0 {
			t.Errorf("scanSet(%q) takes %d bytes; want it left to the parser", other, used)
		}
	}
}

// FuzzScan compares with the parser: what scanGet and scanSet take, it reads the same.
func FuzzScan(f *testing.F) {
	f.Add([]byte(request("GET", "k")))
	f.Add([]byte(request("set", "key", "value")))
	f.Add([]byte("*2\r\n$3\r\nGET\r\n$01\r\nk\r\n"))
	f.Fuzz(func(t *testing.T, input []byte) {
		check := func(used int, taken ...[]byte) {
			if used == 0 {
				return
			}
			var parser resp.Parser
			arguments, consumed, result := parser.Next(input, nil)
			if result != resp.Complete || consumed != used || len(arguments) != len(taken)+1 {
				t.Fatalf("the parser reads %q as %q, %d bytes; scanned %q, %d bytes", input, arguments, consumed, taken, used)
			}
			for i, argument := range taken {
				if string(argument) != string(arguments[i+1]) {
					t.Fatalf("the parser reads %q as %q, scanned %q", input, arguments, taken)
				}
			}
		}
		key, used := scanGet(input)
		check(used, key)
		key, value, used := scanSet(input)
		check(used, key, value)
	})
}
