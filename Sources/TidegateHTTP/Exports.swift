// The API of `import TidegateHTTP`: a client's calls use values of the session.
@_exported public import TidegateCore
@_exported public import TidegateSession
