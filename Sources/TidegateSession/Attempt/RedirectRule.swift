internal import HTTPTypes
internal import TidegateCore

/// Where a redirect leads, and with what (RFC 9110 15.4).
enum RedirectRule {
    /// The statuses that are followed; 300 and 304 are answers of their own.
    static func isRedirect(_ status: Int) -> Bool { [301, 302, 303, 307, 308].contains(status) }

    static func follow(_ status: Int, to location: String, from hop: Hop) throws(HTTPURLError) -> Hop {
        let url = try hop.url.resolving(location)
        let isSafe = hop.method == "GET" || hop.method == "HEAD"
        let becomesGet = !isSafe && (status == 303 || (hop.method == "POST" && (status == 301 || status == 302)))
        let isSameOrigin = url.origin == hop.url.origin
        return Hop(
            method: becomesGet ? "GET" : hop.method, url: url, keepsBody: hop.keepsBody && !becomesGet,
            keepsCredentials: hop.keepsCredentials && isSameOrigin,
            headers: isSameOrigin ? hop.headers : hop.headers?.filter { !self.isPrivate($0.name) })
    }

    /// The hop with what a hook asks for instead; its fields are taken as they are.
    static func replaced(_ hop: Hop, by request: RedirectRequest) throws(TaskError) -> Hop {
        let checked = try TaskRequest(url: request.url, method: request.method, headers: request.headers)
        let keepsCredentials = hop.keepsCredentials && checked.address.origin == hop.url.origin
        return Hop(
            method: checked.method, url: checked.address, keepsBody: hop.keepsBody && request.keepsBody,
            keepsCredentials: keepsCredentials, headers: checked.headers)
    }

    /// The fields that belong to one origin only.
    static func isPrivate(_ name: HTTPField.Name) -> Bool {
        [.authorization, .cookie, .proxyAuthorization].contains(name) || name.canonicalName == "host"
    }

    /// The fields that describe a body.
    static func describesBody(_ name: HTTPField.Name) -> Bool {
        [.contentType, .contentLength, .contentEncoding, .contentLanguage, .transferEncoding].contains(name)
    }
}
