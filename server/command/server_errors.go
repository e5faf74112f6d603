package command

// The error replies of the connection and server commands, byte for byte those of Redis 7.0
// (7.2 for CLIENT SETINFO).
const (
	errNoPassword      = "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"
	errWrongPassword   = "WRONGPASS invalid username-password pair or user is disabled."
	errProtocol        = "NOPROTO unsupported protocol version"
	errProtocolNumber  = "ERR Protocol version is not an integer or out of range"
	errHelloOption     = "ERR Syntax error in HELLO option '%s'"
	errHelloAuth       = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"
	errDatabase        = "ERR DB index is out of range"
	errInt32           = "ERR value is out of range, value must between -2147483648 and 2147483647"
	errClientName      = "ERR Client names cannot contain spaces, newlines or special characters."
	errLibrary         = "ERR %s cannot contain spaces, newlines or special characters."
	errUnrecognized    = "ERR Unrecognized option '%s'"
	errClientType      = "ERR Unknown client type '%s'"
	errClientID        = "ERR Invalid client ID"
	errClientIDPlus    = "ERR client-id should be greater than 0"
	errNoSuchClient    = "ERR No such client"
	errNoSuchUser      = "ERR No such user '%s'"
	errConfigUnknown   = "ERR Unknown option or number of arguments for CONFIG SET - '%s'"
	errConfigFailed    = "ERR CONFIG SET failed (possibly related to argument '%s') - %s"
	errNoConfigFile    = "ERR The server is running without a config file"
	errNoKeyArguments  = "ERR The command has no key arguments"
	errNoSuchCommand   = "ERR Invalid command specified"
	errCommandArity    = "ERR Invalid number of arguments specified for command"
	errNoShutdown      = "ERR No shutdown in progress."
	errShutdown        = "ERR Errors trying to SHUTDOWN. Check logs."
	errDebugSubcommand = "ERR unknown subcommand or wrong number of arguments for '%s'. Try DEBUG HELP."
	errTimeout         = "ERR timeout is not an integer or out of range"
	errNoFrequency     = "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust."
	errTimeoutNegative = "ERR timeout is negative"
)
