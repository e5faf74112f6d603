// Package resp turns bytes into arguments and values into bytes: the Redis serialization protocol,
// versions 2 and 3.
//
//	request    *2\r\n $3\r\nGET\r\n $1\r\nk\r\n      multibulk: count, then length and bytes an argument
//	           GET "a key"\r\n                       inline: words, quoted as in a shell
//
//	reply      +OK\r\n             simple string     :42\r\n         integer
//	           -ERR text\r\n       error             $2\r\nhi\r\n    bulk string, $-1 null in RESP2
//	           *2\r\n… …           array             _\r\n           null in RESP3
//	           %1\r\n… …           map               ~2\r\n… …       set
//	           ,3.25\r\n           double            #t\r\n          boolean
//	           (123…\r\n           big number        =6\r\ntxt:hi    verbatim string
//	           >2\r\n… …           push              !3\r\nERR       bulk error
//
// A Parser slices requests out of the input without copying; the arguments live as long as the
// input does. Encoders take a byte slice and return it longer; they are redcon's where redcon has
// them. The client's end, used by tests and the in-process client, is ReadReply. Limits and error
// texts are those of Redis 7.0.
package resp
