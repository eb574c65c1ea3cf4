internal import Glibc
package import TidegateCore

/// How a try to connect ended that did not become a connection.
package struct DialEnd: Sendable, Hashable {
    /// Whom it was to lead to.
    package var address: IPAddress?
    /// Our address; nil where the kernel had chosen none.
    package var local: IPAddress?
    /// The error number (errno(3)); 0 where it was still waiting for an answer.
    package var errorNumber: Int32
    /// Who refused with an ICMP error, where somebody did.
    package var refusal: ICMPError?
    /// Whether the kernel refused in the very call that asked for the connection.
    package var isImmediate: Bool
    /// How often the first packet was repeated.
    package var retransmits: Int

    package init(
        address: IPAddress?, local: IPAddress? = nil, errorNumber: Int32 = 0, refusal: ICMPError? = nil,
        isImmediate: Bool = false, retransmits: Int = 0
    ) {
        self.address = address
        self.local = local
        self.errorNumber = errorNumber
        self.refusal = refusal
        self.isImmediate = isImmediate
        self.retransmits = retransmits
    }

    /// How far it came: from not having left this host, 1, to having been answered by the other one, 5.
    var rank: Int {
        if let refusal {
            if refusal.isFrom(self.address) { return 5 }
            return refusal.offender == nil || refusal.isFrom(self.local) ? 2 : 4
        }
        switch self.errorNumber {
        case ECONNREFUSED, ECONNRESET: return 5
        case 0, ETIMEDOUT: return 3
        default: return self.isImmediate ? 1 : 2
        }
    }
}

/// What an attempt's tries to connect came to; several addresses are tried at once or one after the other.
struct DialRecord {
    /// Whether one of them became a connection.
    var isConnected = false
    /// Whom it leads to.
    var connected: IPAddress?
    /// The failed one that came furthest: it tells more than one that this host did not let out at all.
    private(set) var best: DialEnd?

    mutating func ended(_ end: DialEnd) {
        // The first of several equal ones was preferred by whoever ordered the addresses.
        if let best = self.best, best.rank >= end.rank, best.address != end.address { return }
        self.best = end
    }
}
