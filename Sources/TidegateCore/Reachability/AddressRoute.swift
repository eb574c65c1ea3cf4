/// What the kernel would do with a packet to an address, and over which link.
package struct AddressRoute: Sendable, Hashable {
    /// What it would do.
    package var verdict: Verdict
    /// The link that it would take, or would take if it could be used; nil if there is none.
    package var link: String?

    /// A route from its parts.
    package init(verdict: Verdict, link: String? = nil) {
        self.verdict = verdict
        self.link = link
    }
}
