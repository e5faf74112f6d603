package certificate

// Protocol versions and ciphers by the names that OpenSSL, and so Redis, gives them.

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
)

// versions are the protocols by name, oldest first.
var versions = []struct {
	name    string
	version uint16
}{
	{"TLSv1", tls.VersionTLS10}, {"TLSv1.1", tls.VersionTLS11}, {"TLSv1.2", tls.VersionTLS12}, {"TLSv1.3", tls.VersionTLS13},
}

// ParseProtocols reads names of protocol versions, separated by blanks, in any case: TLSv1.2 TLSv1.3. They must
// follow one another. Empty is 1.2 and 1.3.
func ParseProtocols(text string) (least, most uint16, err error) {
	names := strings.Fields(strings.ToLower(text))
	if len(names) == 0 {
		return tls.VersionTLS12, tls.VersionTLS13, nil
	}
	known, between := 0, false
	for _, v := range versions {
		switch given := slices.Contains(names, strings.ToLower(v.name)); {
		case given && between:
			return 0, 0, fmt.Errorf("cannot read protocols %q: a version between them is left out", text)
		case given:
			if least == 0 {
				least = v.version
			}
			most = v.version
			known++
		default:
			between = most != 0
		}
	}
	slices.Sort(names)
	if known != len(slices.Compact(names)) {
		return 0, 0, fmt.Errorf("cannot read protocols %q: they must be of TLSv1, TLSv1.1, TLSv1.2 and TLSv1.3, with blanks between", text)
	}
	return least, most, nil
}

// ciphers are the suites of TLS 1.2 that can be chosen, by OpenSSL's names.
var ciphers = map[string]uint16{
	"ECDHE-ECDSA-AES128-GCM-SHA256": tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	"ECDHE-RSA-AES128-GCM-SHA256":   tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	"ECDHE-ECDSA-AES256-GCM-SHA384": tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	"ECDHE-RSA-AES256-GCM-SHA384":   tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	"ECDHE-ECDSA-CHACHA20-POLY1305": tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	"ECDHE-RSA-CHACHA20-POLY1305":   tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	"ECDHE-ECDSA-AES128-SHA":        tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA,
	"ECDHE-RSA-AES128-SHA":          tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,
	"ECDHE-ECDSA-AES256-SHA":        tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,
	"ECDHE-RSA-AES256-SHA":          tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA,
}

// ParseCiphers reads names of TLS 1.2 suites with colons between them. Empty is Go's choice, nil. The order does not
// count, and TLS 1.3 has no choice: Go orders suites by what the machine is good at.
func ParseCiphers(text string) ([]uint16, error) {
	var suites []uint16
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r == ':' || r == ',' || r == ' ' }) {
		suite, ok := ciphers[strings.ToUpper(name)]
		if !ok {
			names := make([]string, 0, len(ciphers))
			for name := range ciphers {
				names = append(names, name)
			}
			slices.Sort(names)
			return nil, fmt.Errorf("cannot read cipher %q: it must be one of %s", name, strings.Join(names, ", "))
		}
		suites = append(suites, suite)
	}
	return suites, nil
}
