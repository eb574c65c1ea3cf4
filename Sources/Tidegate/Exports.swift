// The API of `import Tidegate`.
@_exported public import struct TidegateConnections.ConnectionsConfiguration
@_exported public import TidegateHTTP
@_exported public import struct TidegateLoop.SystemClock
@_exported public import enum TidegateMetrics.ExpositionFormat
@_exported public import TidegateReachability
