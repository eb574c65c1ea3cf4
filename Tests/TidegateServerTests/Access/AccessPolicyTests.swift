import Testing
import TidegateCore

@testable import TidegateServer

/// The values of an access policy.
@Suite struct AccessPolicyTests {
    static let secret = "$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
    static let other = "$2y$04$abcdefghijklmnopqrstuu0HtfOlPbTiymk5tcV.3TsFPDd3SYZqu"

    static func users(_ hashes: [String: String]) -> UserTable {
        var users = UserTable()
        for (user, hash) in hashes { users[user] = BcryptHash(hash) }
        return users
    }

    static func isRight(_ password: String, for user: String = "ann", in hash: String) -> Bool {
        self.users(["ann": hash]).work(for: user).verify(Array(password.utf8))
    }

    @Test(
        "All three kinds of bcrypt verify the right password and no other",
        arguments: ["2a", "2b", "2y"])
    func kinds(_ kind: String) {
        let hash = "$\(kind)$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
        #expect(Self.isRight("secret", in: hash))
        for wrong in ["", "Secret", "secret ", "secre", "secret\u{0}", "secret\u{0}x"] {
            #expect(!Self.isRight(wrong, in: hash), "\(wrong)")
        }
        #expect(!Self.isRight("secret", for: "bob", in: hash))
    }

    @Test("Passwords may be empty, long or of any letters")
    func passwords() {
        let stem = "$2y$04$abcdefghijklmnopqrstuu"
        let long = String(repeating: "x", count: 80)
        #expect(Self.isRight("", in: stem + "byCG3zY1GIXMyxfivm.ClDiInHzxjiq"))
        #expect(Self.isRight("p\u{E4}ssw\u{F6}rd", in: stem + "yx2n0Zzopyr9QuYTMCfOJJOj526QVoC"))
        #expect(Self.isRight(long, in: stem + "bzadhGtS2zEF.gu0yd0opP6cVzb.e0i"))
        // bcrypt uses 72 bytes.
        #expect(Self.isRight(String(repeating: "x", count: 600), in: stem + "bzadhGtS2zEF.gu0yd0opP6cVzb.e0i"))
        #expect(!Self.isRight(String(repeating: "x", count: 71), in: stem + "bzadhGtS2zEF.gu0yd0opP6cVzb.e0i"))
    }

    @Test("A hash is parsed only if it is complete")
    func hashes() {
        #expect(BcryptHash(Self.secret)?.cost == 4)
        let bad = [
            "", "secret", "$2x" + Self.secret.dropFirst(3), "$2$04$" + Self.secret.dropFirst(7),
            Self.secret + "x", String(Self.secret.dropLast()), Self.secret.replacing("$04$", with: "$03$"),
            Self.secret.replacing("$04$", with: "$32$"), Self.secret.replacing("$04$", with: "$+4$"),
            String(Self.secret.dropLast()) + "!", "$6$abcdefgh$" + String(repeating: "a", count: 48),
        ]
        for text in bad { #expect(BcryptHash(text) == nil, "\(text)") }
    }

    @Test("An unknown user name is as much work as one of the users, and an expensive hash slows only its own user")
    func work() {
        let costly = Self.secret.replacing("$04$", with: "$09$")
        let users = Self.users(["ann": Self.secret, "bob": costly])
        #expect(users.work(for: "ann").hash.cost == 4 && users.work(for: "bob").hash.cost == 9)
        let costs = (0..<100).map { users.work(for: "eve\($0)").hash.cost }
        #expect(Set(costs) == [4, 9])
        #expect(costs == (0..<100).map { users.work(for: "eve\($0)").hash.cost })
        #expect(UserTable().work(for: "eve").hash.cost == 4)
        #expect(users.work(for: "ann").isKnownUser && !users.work(for: "eve").isKnownUser)
        // The hash of an unknown user is valid, too: an error would be quick.
        #expect(BcryptHash(BcryptHash.unmatchable(cost: 9).text)?.cost == 9)
    }

    @Test(
        "Credentials are parsed from a header of the scheme Basic",
        arguments: [
            ("Basic YW5uOnNlY3JldA==", "ann", "secret"), ("basic  YW5uOnNlY3JldA==", "ann", "secret"),
            ("BASIC YW5uOmE6Yg==", "ann", "a:b"), ("Basic YW5uOg==", "ann", ""), ("Basic OnNlY3JldA==", "", "secret"),
        ])
    func credentials(_ header: String, _ user: String, _ password: String) {
        #expect(BasicCredentials(header) == BasicCredentials(user: user, password: Array(password.utf8)))
    }

    @Test(
        "A header of another scheme, or a malformed one, has no credentials",
        arguments: ["", "Basic", "Basic ", "Bearer YW5uOnNlY3JldA==", "Basic ann:secret", "Basic YW5u", "Basic /zp4"])
    func noCredentials(_ header: String) { #expect(BasicCredentials(header) == nil) }

    @Test("A bucket gives its burst at once, then one for each interval, and never more than the burst")
    func bucket() {
        var now = MonotonicTime(nanoseconds: 1_000_000_000_000)
        var bucket = TokenBucket(limit: RateLimit(interval: .seconds(2), burst: 3), fullAt: now)
        func takes(_ count: Int) -> [Duration?] { (0..<count).map { _ in bucket.take(at: now) } }
        #expect(takes(5) == [nil, nil, nil, .seconds(2), .seconds(2)])
        now = now + .milliseconds(500)
        #expect(takes(1) == [.milliseconds(1500)])
        now = now + .milliseconds(1500)
        #expect(takes(2) == [nil, .seconds(2)])
        now = now + .seconds(1000)
        #expect(takes(4) == [nil, nil, nil, .seconds(2)])
    }
}
