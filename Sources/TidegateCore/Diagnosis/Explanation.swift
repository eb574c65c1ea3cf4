/// Why a target answers or does not: both families' ladders, the first failure, whose it is, and what to do.
public struct Explanation: Sendable, Hashable {
    /// One family's ladder, from the lowest rung to the highest.
    public struct Ladder: Sendable, Hashable {
        /// The IP version.
        public var family: AddressFamily
        /// Every rung in order, checked or not.
        public var rungs: [RungReport]

        /// A ladder from its parts.
        package init(family: AddressFamily, rungs: [RungReport]) {
            self.family = family
            self.rungs = rungs
        }

        /// The lowest rung that fails; nil if none does.
        public var firstFailure: RungReport? { self.rungs.first { $0.status == .bad } }
    }

    /// The target or URL as it was given.
    public var target: String
    /// What its name resolves to; the address itself if the host is one.
    public var addresses: [IPAddress]
    /// IPv4, then IPv6; only the requested family if one was.
    public var ladders: [Ladder]
    /// The failure that matters: that of the family that got furthest, nil if a family reaches the target.
    public var firstFailure: RungReport?
    /// Whose failure it is; nil only when nothing failed.
    public var party: FaultParty?
    /// What to do about it, in one plain sentence.
    public var advice: String

    /// An explanation from its parts.
    package init(
        target: String, addresses: [IPAddress], ladders: [Ladder], firstFailure: RungReport?, party: FaultParty?,
        advice: String
    ) {
        self.target = target
        self.addresses = addresses
        self.ladders = ladders
        self.firstFailure = firstFailure
        self.party = party
        self.advice = advice
    }
}
