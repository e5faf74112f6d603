package resp

// ProtocolError says why a request can never be read. Its text is the client's reply, byte for
// byte that of Redis 7.0.
type ProtocolError struct {
	// Text is the reply without the leading minus sign and the line end.
	Text string
}

// Error returns Text.
func (e *ProtocolError) Error() string { return e.Text }

var (
	errTooBigInline          = protocolError("too big inline request")
	errUnbalancedQuotes      = protocolError("unbalanced quotes in request")
	errTooBigCount           = protocolError("too big mbulk count string")
	errInvalidCount          = protocolError("invalid multibulk length")
	errUnauthenticatedCount  = protocolError("unauthenticated multibulk length")
	errTooBigLength          = protocolError("too big bulk count string")
	errInvalidLength         = protocolError("invalid bulk length")
	errUnauthenticatedLength = protocolError("unauthenticated bulk length")
)

func protocolError(cause string) *ProtocolError {
	return &ProtocolError{Text: "ERR Protocol error: " + cause}
}

// errExpectedDollar is the error for an argument that starts with got. Redis writes line ends
// inside an error as spaces.
func errExpectedDollar(got byte) *ProtocolError {
	if got == '\r' || got == '\n' {
		got = ' '
	}
	return protocolError("expected '$', got '" + string([]byte{got}) + "'")
}
