// What an app imports: the nouns, the bus and the rooms, under one name.
@_exported public import TidegateCore
@_exported public import TidegateReachability
@_exported public import TidegateSession
@_exported public import struct TidegateLoop.SystemClock
