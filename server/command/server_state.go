package command

// ServerState is what the connection and server commands share beyond the databases.
type ServerState struct{}
