extension Target: ExpressibleByStringLiteral {
    /// A target in source code, as ``init(_:zone:)`` parses it.
    ///
    /// Text that is not a target counts as a host name that does not exist, so that its level is `none`; for text from
    /// elsewhere use ``init(_:zone:)``, which throws.
    public init(stringLiteral text: String) { self = (try? Target(text)) ?? Target(name: text, port: nil) }

    /// A host by name or address, perhaps with a port; a host that is neither counts as a name that does not exist.
    public init(host: String, port: UInt16? = nil) {
        guard let parsed = try? Target(host), parsed.port == nil else {
            self.init(name: host, port: port)
            return
        }
        self = parsed.address.map { Target(address: $0, port: port) } ?? Target(name: parsed.host, port: port)
    }
}
