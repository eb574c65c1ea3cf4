public import TidegateCore
internal import HTTPTypes

/// A server or a proxy asks for credentials (RFC 9110 11).
public struct AuthenticationChallenge: Sendable, Hashable {
    /// One way to answer.
    public struct Scheme: Sendable, Hashable {
        /// The scheme's name in lower case: `basic`, `digest`, `bearer` or another one.
        public let name: String
        /// Its parameters, their names in lower case, without quotes.
        public let parameters: [String: String]

        /// The purpose of the credentials, in the server's words; empty without one.
        public var realm: String { self.parameters["realm"] ?? "" }

        /// Reads the values of `WWW-Authenticate` or `Proxy-Authenticate` fields; malformed parts are left out.
        static func parse(_ fields: [String]) -> [Scheme] {
            fields.flatMap { ChallengeReader(rest: $0[...]).schemes() }
        }
    }

    /// `SCHEME://HOST:PORT` of the server or the proxy.
    public let origin: String
    /// True if the proxy asks.
    public let isProxy: Bool
    /// The ways to answer, in the server's order.
    public let schemes: [Scheme]

    /// The purpose of the credentials: the first named realm.
    public var realm: String { self.schemes.first { !$0.realm.isEmpty }?.realm ?? "" }
}

/// The answer to a challenge.
public enum AuthenticationAnswer: Sendable, Hashable {
    /// Not at all: the status is the task's answer.
    case refuse
    /// The task is cancelled.
    case cancel
    /// With a name and a password: by Digest (RFC 7616) if the server offers a supported kind, otherwise by Basic (RFC
    /// 7617), otherwise not at all.
    case credentials(Credentials)
    /// With a token (RFC 6750).
    case bearer(String)
}

/// Reads one field's list of challenges: `Digest realm="a, b", qop="auth", Basic realm="c"`.
private struct ChallengeReader {
    var rest: Substring

    func schemes() -> [AuthenticationChallenge.Scheme] {
        var reader = self
        var found: [(name: String, parameters: [String: String])] = []
        while let word = reader.token() {
            if reader.take("="), !found.isEmpty {
                guard let value = reader.value() else { break }
                found[found.count - 1].parameters[word.lowercased()] = value
            } else {
                found.append((word.lowercased(), [:]))
            }
        }
        return found.map { AuthenticationChallenge.Scheme(name: $0.name, parameters: $0.parameters) }
    }

    private mutating func token() -> String? {
        self.rest = self.rest.drop { " \t,".contains($0) }
        let word = self.rest.prefix { !" \t,=\"".contains($0) }
        self.rest = self.rest.dropFirst(word.count)
        return HTTPField.Name(String(word)) != nil ? String(word) : nil
    }

    private mutating func take(_ mark: Character) -> Bool {
        let next = self.rest.drop { $0 == " " || $0 == "\t" }
        guard next.first == mark else { return false }
        self.rest = next.dropFirst()
        return true
    }

    private mutating func value() -> String? {
        guard self.take("\"") else { return self.token() }
        var text = ""
        while let letter = self.rest.popFirst() {
            if letter == "\"" { return text }
            if letter == "\\", let next = self.rest.popFirst() { text.append(next) } else { text.append(letter) }
        }
        return nil
    }
}
