internal import CIdn2

/// Host names with letters beyond ASCII.
enum InternationalName {
    /// The DNS form of such a name: each label begins with `xn--` (RFC 5890, UTS #46).
    ///
    /// Letters are lowered and composed first, and full stops of other scripts separate labels: the result must be
    /// checked like any other name.
    ///
    /// - Throws: ``TargetError/notEncodable(_:)`` for a character that no name has, ``TargetError/badName(_:)`` for all
    ///   else.
    static func encode(_ name: String) throws(TargetError) -> String {
        // C would end the name there.
        guard !name.utf8.contains(0) else { throw .badName(name) }
        let flags = Int32(IDN2_NFC_INPUT.rawValue | IDN2_NONTRANSITIONAL.rawValue)
        var encoded: UnsafeMutablePointer<UInt8>?
        let code = unsafe idn2_lookup_u8(Array(name.utf8) + [0], &encoded, flags)
        guard code == IDN2_OK.rawValue, let encoded = unsafe encoded else {
            throw self.isAboutCharacters(code) ? .notEncodable(name) : .badName(name)
        }
        defer { unsafe idn2_free(encoded) }
        return unsafe String(cString: encoded)
    }

    private static func isAboutCharacters(_ code: Int32) -> Bool {
        [
            IDN2_DISALLOWED, IDN2_CONTEXTJ, IDN2_CONTEXTJ_NO_RULE, IDN2_CONTEXTO, IDN2_CONTEXTO_NO_RULE,
            IDN2_UNASSIGNED, IDN2_BIDI, IDN2_LEADING_COMBINING, IDN2_INVALID_NONTRANSITIONAL,
        ].contains { $0.rawValue == code }
    }
}
