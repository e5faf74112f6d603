package network

// LoopsSupported tells whether the platform has event loops.
const LoopsSupported = loopsSupported
