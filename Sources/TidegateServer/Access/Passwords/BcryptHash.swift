/// The bcrypt hash of a password: `$2y$10$`, 22 characters of salt and 31 of the hash.
package struct BcryptHash: Sendable, Hashable {
    /// The supported costs: each step doubles the work, and 18 takes many seconds.
    package static let supportedCosts = 4...18

    /// The text of the hash.
    let text: String
    /// The work of one hash, as a power of two.
    package let cost: Int

    /// Parses a hash of the kinds `$2a$`, `$2b$` and `$2y$` of any cost; nil if the text is not one.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 60, ["$2a$", "$2b$", "$2y$"].contains(text.prefix(4)), bytes[6] == UInt8(ascii: "$"),
            bytes[7...].allSatisfy(BcryptHash.isBase64Digit), bytes[4...5].allSatisfy({ (0x30...0x39).contains($0) }),
            let cost = Int(text.dropFirst(4).prefix(2)), (4...31).contains(cost)
        else { return nil }
        self.text = text
        self.cost = cost
    }

    /// A hash that no password has, which takes as long to compare as a real one of this cost.
    static func unmatchable(cost: Int) -> BcryptHash {
        BcryptHash(cost: min(max(cost, self.supportedCosts.lowerBound), self.supportedCosts.upperBound))
    }

    private init(cost: Int) {
        let digits = cost < 10 ? "0\(cost)" : "\(cost)"
        self.text = "$2b$\(digits)$" + String(repeating: "/", count: 21) + String(repeating: ".", count: 32)
        self.cost = cost
    }

    private static func isBase64Digit(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x2E...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }
}
