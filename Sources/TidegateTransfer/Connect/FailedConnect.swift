internal import Glibc
package import TidegateCore

/// How a try to connect ended that did not become a connection.
package struct FailedConnect: Sendable, Hashable {
    /// The address that was tried.
    package var address: IPAddress?
    /// Our address; nil if the kernel had chosen none.
    package var local: IPAddress?
    /// The error number (errno(3)); 0 if the try was still waiting for an answer.
    package var errorNumber: Int32 = 0
    /// The ICMP error that refused it, if one did.
    package var refusal: ICMPError?
    /// Whether the kernel refused in the very call that asked for the connection.
    package var isImmediate = false
    /// How often the first packet was repeated.
    package var retransmits = 0

    /// Whether the address had its time, and nothing came.
    var isSilence: Bool {
        self.refusal == nil && (self.errorNumber == ETIMEDOUT || (self.errorNumber == 0 && self.retransmits > 0))
    }

    /// How far the try came: from 1, not having left this host, to 5, having been answered by the other one.
    var rank: Int {
        if let refusal {
            if refusal.isFrom(self.address) { return 5 }
            return refusal.offender == nil || refusal.isFrom(self.local) ? 2 : 4
        }
        switch self.errorNumber {
        case ECONNREFUSED, ECONNRESET: return 5
        // One that was given up before its first packet was repeated had no time to be answered.
        case 0: return self.retransmits > 0 ? 3 : 2
        case ETIMEDOUT: return 3
        default: return self.isImmediate ? 1 : 2
        }
    }
}
