package import HTTPTypes
package import TidegateCore

/// What one request on the wire is made of; every attempt reads it, so that it is handed on as one reference.
package final class Hop: Sendable {
    package let method: String
    package let url: HTTPURL
    package let keepsBody: Bool
    /// False once another origin was asked: it gets neither credentials nor private fields of the first one's.
    package let keepsCredentials: Bool
    /// True once a server with a public address has redirected: it cannot lead to this host's own.
    package let isFromPublicServer: Bool
    /// The fields that a hook put in the place of the request's; nil takes the request's.
    package let headers: [HTTPField]?

    /// A hop from its parts.
    package init(
        method: String, url: HTTPURL, keepsBody: Bool = true, keepsCredentials: Bool = true,
        isFromPublicServer: Bool = false, headers: [HTTPField]? = nil
    ) {
        self.method = method
        self.url = url
        self.keepsBody = keepsBody
        self.keepsCredentials = keepsCredentials
        self.isFromPublicServer = isFromPublicServer
        self.headers = headers
    }
}
