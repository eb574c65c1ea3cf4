internal import CCrypt
internal import Glibc

extension UserTable.Work {
    /// True where the password is the user's; takes as long as bcrypt does, so that no event loop may wait for it.
    func isDone(with password: [UInt8]) -> Bool {
        // The hash ends at a zero byte, and would take what stands before it for the whole.
        let isWhole = !password.contains(0)
        let isSame = Self.matches(isWhole ? password : [0x20], self.hash)
        for hash in self.padding { _ = Self.matches([0x20], hash) }
        return isSame && isWhole && self.isKnown
    }

    private static func matches(_ password: [UInt8], _ hash: BcryptHash) -> Bool {
        // bcrypt looks at 72 bytes, and crypt(3) refuses more than 511.
        let phrase = password.prefix(72).map { CChar(bitPattern: $0) } + [0]
        var (memory, size): (UnsafeMutableRawPointer?, Int32) = (nil, 0)
        defer { free(memory) }
        guard let result = crypt_ra(phrase, hash.text, &memory, &size) else { return false }
        let computed = UnsafeBufferPointer(start: result, count: strlen(result)).map { UInt8(bitPattern: $0) }
        return MessageAuthenticator.isSame(computed, Array(hash.text.utf8))
    }
}
