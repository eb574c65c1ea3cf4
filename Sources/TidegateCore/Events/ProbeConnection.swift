/// The addresses of a connection that a target answered on, and what that proves besides.
package struct ProbeConnection: Sendable, Hashable {
    package var local: IPAddress
    package var remote: IPAddress
    /// True if a name was resolved before.
    package var isResolved: Bool
    /// True if the target proved its identity by TLS.
    package var isEncrypted: Bool

    /// A connection from its parts.
    package init(local: IPAddress, remote: IPAddress, isResolved: Bool, isEncrypted: Bool) {
        self.local = local
        self.remote = remote
        self.isResolved = isResolved
        self.isEncrypted = isEncrypted
    }
}
