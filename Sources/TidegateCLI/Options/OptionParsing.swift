internal import ArgumentParser
internal import Glibc
internal import Tidegate
internal import TidegateDaemon
internal import TidegateServer

/// Parses the values of options; errors name the option and quote the text.
enum OptionParsing {
    /// A duration; a whole number without a unit is in seconds, as in timeout(1) and curl(1).
    static func duration(_ text: String, of option: String) throws -> DurationText {
        let isNumber = text.count <= 9 && text.allSatisfy { $0.isASCII && $0.isNumber } && !text.isEmpty
        return try self.naming(option, DurationText(parsing: isNumber ? "\(text)s" : text))
    }

    /// A finite duration, zero or longer; a number without a unit, even with a fraction, is in seconds.
    static func seconds(_ text: String, of option: String) throws -> Duration {
        if let number = Double(text), (0...86_400).contains(number) { return .seconds(number) }
        guard let duration = try self.duration(text, of: option).duration else {
            throw ValidationError("\(option): \"\(text)\" is not a finite duration")
        }
        return duration
    }

    /// A finite duration above zero.
    static func positive(_ text: String, of option: String) throws -> Duration {
        guard let duration = try self.duration(text, of: option).duration, duration > .zero else {
            throw ValidationError("\(option): \"\(text)\" is not a finite duration greater than 0")
        }
        return duration
    }

    /// The requirements of `--require`.
    static func requirements(_ texts: [String]) throws -> [Requirement] {
        try texts.map { try self.naming("--require", RequirementText.parse($0)) }
    }

    static func checkRetries(_ retries: Int) throws {
        guard (0...9999).contains(retries) else {
            throw ValidationError("--retry: \(retries) is out of range (0 to 9999)")
        }
    }

    /// A number of bytes above zero.
    static func bytes(_ text: String, of option: String) throws -> Int {
        let size = try self.naming(option, ByteText(parsing: text))
        guard size.bytes > 0 else { throw ValidationError("\(option): must be greater than 0") }
        return Int(size.bytes)
    }

    /// Rejects two options that exclude each other.
    static func exclude(_ first: (name: String, isGiven: Bool), _ second: (name: String, isGiven: Bool)) throws {
        guard first.isGiven, second.isGiven else { return }
        throw ValidationError("\(first.name) and \(second.name) are mutually exclusive")
    }

    /// The value of an expression; the option's name is added to its error.
    static func naming<Value>(_ option: String, _ value: @autoclosure () throws -> Value) throws -> Value {
        do { return try value() } catch { throw ValidationError("\(option): \(error)") }
    }
}

extension ArgumentHelp {
    /// The help text of an option, with the name of its value.
    static func value(_ name: String, _ text: String) -> ArgumentHelp { ArgumentHelp(text, valueName: name) }
}

/// The daemon to connect to.
struct SocketOptions: ParsableArguments {
    @Option(
        name: .customLong("control.socket"),
        help: .value("path", "Control socket of the daemon (default: \(Terminal.defaultPaths.socket))."))
    var socket: String?

    @Option(
        name: .customLong("control.user"),
        help: .value("name", "The user whose daemon listens there, besides root and yourself."))
    var user: String?

    func validate() throws {
        if self.socket == "" { throw ValidationError("--control.socket: path is empty") }
        if let user, self.owner == nil { throw ValidationError("--control.user: there is no user \"\(user)\"") }
    }

    /// A client of that daemon; `timeout` limits the wait for a place in its queue.
    func client(timeout: Duration = .seconds(5)) -> ControlClient {
        ControlClient(socket: self.socket ?? Terminal.defaultPaths.socket, timeout: timeout, trusting: self.owner)
    }

    // A name or a number, as in chown(1).
    private var owner: UInt32? {
        self.user.flatMap { name in getpwnam(name).map { $0.pointee.pw_uid } ?? UInt32(name) }
    }
}
