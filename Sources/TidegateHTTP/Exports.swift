// What an app imports as `TidegateHTTP`: a client's calls take and give values of the session.
@_exported public import TidegateCore
@_exported public import TidegateSession
