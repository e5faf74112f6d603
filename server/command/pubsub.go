package command

import (
	"maps"
	"slices"

	"github.com/pyropedb/pyrope/server/pubsub"
	"github.com/pyropedb/pyrope/server/resp"
)

const (
	subscribeFlags = PubSub | NoScript | Loading | Stale
	publishFlags   = PubSub | Loading | Stale | Fast
	lookFlags      = PubSub | Loading | Stale
	inPubSub       = InPubSub | InSlow
)

var (
	shardChannels = []KeySpec{{First: 1, Last: -1, Step: 1, Flags: "not_key"}}
	shardChannel  = []KeySpec{{First: 1, Last: 1, Step: 1, Flags: "not_key"}}
)

func init() { register(pubsubCommands) }

var pubsubCommands = []Command{
	{Name: "subscribe", Arity: -2, Flags: subscribeFlags, Categories: inPubSub, Handler: subscribe,
		Group: "pubsub", Since: "2.0.0", Complexity: "O(N) where N is the number of channels", Summary: "Listen to channels"},
	{Name: "unsubscribe", Arity: -1, Flags: subscribeFlags, Categories: inPubSub, Handler: unsubscribe,
		Group: "pubsub", Since: "2.0.0", Complexity: "O(N) where N is the number of channels", Summary: "Listen to channels no longer"},
	{Name: "psubscribe", Arity: -2, Flags: subscribeFlags, Categories: inPubSub, Handler: psubscribe,
		Group: "pubsub", Since: "2.0.0", Complexity: "O(N) where N is the number of patterns", Summary: "Listen to channels that match patterns"},
	{Name: "punsubscribe", Arity: -1, Flags: subscribeFlags, Categories: inPubSub, Handler: punsubscribe,
		Group: "pubsub", Since: "2.0.0", Complexity: "O(N) where N is the number of patterns", Summary: "Listen to patterns no longer"},
	{Name: "ssubscribe", Arity: -2, Flags: subscribeFlags, Categories: inPubSub, Keys: shardChannels, Handler: ssubscribe,
		Group: "pubsub", Since: "7.0.0", Complexity: "O(N) where N is the number of channels", Summary: "Listen to shard channels"},
	{Name: "sunsubscribe", Arity: -1, Flags: subscribeFlags, Categories: inPubSub, Keys: shardChannels, Handler: sunsubscribe,
		Group: "pubsub", Since: "7.0.0", Complexity: "O(N) where N is the number of channels", Summary: "Listen to shard channels no longer"},
	{Name: "publish", Arity: 3, Flags: publishFlags, Categories: InPubSub | InFast, Handler: publish,
		Group: "pubsub", Since: "2.0.0", Complexity: "O(N+M) where N is the number of subscribers and M that of all patterns", Summary: "Send a message to who listens to a channel"},
	{Name: "spublish", Arity: 3, Flags: publishFlags, Categories: InPubSub | InFast, Keys: shardChannel, Handler: spublish,
		Group: "pubsub", Since: "7.0.0", Complexity: "O(N) where N is the number of subscribers", Summary: "Send a message to who listens to a shard channel"},
	{Name: "pubsub", Arity: -2, Categories: InSlow, Group: "pubsub", Since: "2.8.0",
		Complexity: "Depends on subcommand.", Summary: "Commands about channels and who listens",
		Subcommands: []Command{
			{Name: "channels", Arity: -2, Flags: lookFlags, Categories: inPubSub, Handler: pubsubChannels,
				Group: "pubsub", Since: "2.8.0", Complexity: "O(N) where N is the number of channels", Summary: "List the channels that someone listens to"},
			{Name: "numsub", Arity: -2, Flags: lookFlags, Categories: inPubSub, Handler: pubsubNumsub,
				Group: "pubsub", Since: "2.8.0", Complexity: "O(N) where N is the number of channels given", Summary: "How many listen to channels"},
			{Name: "numpat", Arity: 2, Flags: lookFlags, Categories: inPubSub, Handler: pubsubNumpat,
				Group: "pubsub", Since: "2.8.0", Complexity: "O(1)", Summary: "How many patterns someone listens to"},
			{Name: "shardchannels", Arity: -2, Flags: lookFlags, Categories: inPubSub, Handler: pubsubShardChannels,
				Group: "pubsub", Since: "7.0.0", Complexity: "O(N) where N is the number of shard channels", Summary: "List the shard channels that someone listens to"},
			{Name: "shardnumsub", Arity: -2, Flags: lookFlags, Categories: inPubSub, Handler: pubsubShardNumsub,
				Group: "pubsub", Since: "7.0.0", Complexity: "O(N) where N is the number of shard channels given", Summary: "How many listen to shard channels"},
			{Name: "help", Arity: 2, Flags: helpFlags, Categories: InSlow, Handler: pubsubHelp,
				Group: "pubsub", Since: "6.2.0", Complexity: "O(1)", Summary: "List the subcommands"},
		}},
}

// subscribe is SUBSCRIBE channel [channel ...].
func subscribe(c *Context) { c.subscribe(pubsub.Channels, "subscribe") }

// psubscribe is PSUBSCRIBE pattern [pattern ...].
func psubscribe(c *Context) { c.subscribe(pubsub.Patterns, "psubscribe") }

// ssubscribe is SSUBSCRIBE shardchannel [shardchannel ...].
func ssubscribe(c *Context) { c.subscribe(pubsub.Shards, "ssubscribe") }

func (c *Context) subscribe(space pubsub.Space, word string) {
	own := &c.Client.subscriptions[space]
	for _, argument := range c.Args[1:] {
		name := string(argument)
		if own.names == nil {
			own.names = make(map[string]struct{})
		}
		if _, known := own.names[name]; !known {
			own.names[name] = struct{}{}
			own.count.Add(1)
			c.State.Broker.Subscribe(space, name, c.Client)
		}
		c.subscriptionReply(space, word, argument)
	}
	c.Client.restrict()
}

// unsubscribe is UNSUBSCRIBE [channel ...].
func unsubscribe(c *Context) { c.unsubscribe(pubsub.Channels, "unsubscribe") }

// punsubscribe is PUNSUBSCRIBE [pattern ...].
func punsubscribe(c *Context) { c.unsubscribe(pubsub.Patterns, "punsubscribe") }

// sunsubscribe is SUNSUBSCRIBE [shardchannel ...].
func sunsubscribe(c *Context) { c.unsubscribe(pubsub.Shards, "sunsubscribe") }

// unsubscribe takes the client off the names in the arguments, or off all. Each reply comes behind
// the messages that came by the name.
func (c *Context) unsubscribe(space pubsub.Space, word string) {
	own := &c.Client.subscriptions[space]
	var names []string
	for _, argument := range c.Args[1:] {
		names = append(names, string(argument))
	}
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(own.names))
	}
	for _, name := range names {
		if _, known := own.names[name]; known {
			delete(own.names, name)
			own.count.Add(-1)
			c.State.Broker.Unsubscribe(space, name, c.Client)
		}
		if transport := c.Client.Transport; transport != nil {
			c.Out = transport.AppendPushes(c.Out)
		}
		c.subscriptionReply(space, word, []byte(name))
	}
	if len(names) == 0 {
		c.subscriptionReply(space, word, nil)
	}
	c.Client.restrict()
}

// subscriptionReply says what became of one name, nil for none, and how many the client has now.
func (c *Context) subscriptionReply(space pubsub.Space, word string, name []byte) {
	own := &c.Client.subscriptions
	count := own[space].count.Load()
	if space != pubsub.Shards {
		count = own[pubsub.Channels].count.Load() + own[pubsub.Patterns].count.Load()
	}
	c.Out = resp.AppendPush(c.Out, c.Client.Protocol(), 3)
	c.bulkString(word)
	if name != nil {
		c.bulk(name)
	} else {
		c.null()
	}
	c.integer(int64(count))
}

// publish is PUBLISH channel message.
func publish(c *Context) {
	c.integer(int64(c.State.publish(c, pubsub.Channels, c.Args[1], c.Args[2])))
}

// spublish is SPUBLISH shardchannel message.
func spublish(c *Context) {
	c.integer(int64(c.State.publish(c, pubsub.Shards, c.Args[1], c.Args[2])))
}

// pubsubChannels is PUBSUB CHANNELS [pattern].
func pubsubChannels(c *Context) { c.namesReply(pubsub.Channels) }

// pubsubShardChannels is PUBSUB SHARDCHANNELS [pattern].
func pubsubShardChannels(c *Context) { c.namesReply(pubsub.Shards) }

// namesReply replies with the names of a space that match the pattern in Args[2], if there is one.
func (c *Context) namesReply(space pubsub.Space) {
	var pattern []byte
	switch {
	case len(c.Args) > 3:
		c.errorf(errSubcommandArguments, c.Args[1], "PUBSUB")
		return
	case len(c.Args) == 3:
		pattern = c.Args[2]
	}
	names := c.State.Broker.Names(space, pattern)
	c.array(len(names))
	for _, name := range names {
		c.bulkString(name)
	}
}

// pubsubNumsub is PUBSUB NUMSUB [channel ...].
func pubsubNumsub(c *Context) { c.subscribersReply(pubsub.Channels) }

// pubsubShardNumsub is PUBSUB SHARDNUMSUB [shardchannel ...].
func pubsubShardNumsub(c *Context) { c.subscribersReply(pubsub.Shards) }

func (c *Context) subscribersReply(space pubsub.Space) {
	c.array(2 * (len(c.Args) - 2))
	for _, name := range c.Args[2:] {
		c.bulk(name)
		c.integer(int64(c.State.Broker.Subscribers(space, string(name))))
	}
}

// pubsubNumpat is PUBSUB NUMPAT.
func pubsubNumpat(c *Context) { c.integer(c.State.Broker.Count(pubsub.Patterns)) }

// pubsubHelp is PUBSUB HELP.
func pubsubHelp(c *Context) {
	c.help("PUBSUB <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"CHANNELS [<pattern>]",
		"    List the channels that someone listens to, or those that match.",
		"NUMPAT",
		"    Get how many patterns someone listens to.",
		"NUMSUB [<channel> ...]",
		"    Get how many listen to each channel, patterns not counted.",
		"SHARDCHANNELS [<pattern>]",
		"    List the shard channels that someone listens to, or those that match.",
		"SHARDNUMSUB [<shardchannel> ...]",
		"    Get how many listen to each shard channel.",
		"HELP",
		"    Print this help.")
}
