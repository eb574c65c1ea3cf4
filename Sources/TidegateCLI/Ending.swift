internal import ArgumentParser

/// How a command ends when it does not end well: a code of the contract, and a sentence for the standard error.
struct Ending: Error, Hashable {
    /// The exit codes that scripts rely on.
    enum Code: Hashable {
        /// No, or failed.
        case no
        /// Usage or internal error.
        case usage
        /// Unknown.
        case unknown
        /// Gave up waiting for a path.
        case gaveUp
        /// The command to run cannot be run.
        case notRunnable
        /// The command to run does not exist.
        case notFound
        /// A signal ended it.
        case signal(Int32)
        /// The code of the command that was run.
        case command(Int32)

        /// The number for exit(3).
        var number: Int32 {
            switch self {
            case .no: 1
            case .usage: 2
            case .unknown: 3
            case .gaveUp: 75
            case .notRunnable: 126
            case .notFound: 127
            case .signal(let number): 128 + number
            case .command(let number): number
            }
        }
    }

    var code: Code
    /// The last line on the standard error, without the program's name; nil where everything was said already.
    var message: String?

    init(_ code: Code, _ message: String? = nil) {
        self.code = code
        self.message = message
    }
}

/// What the program does with an error that ends a command.
struct CommandError: Hashable {
    var code: Int32
    /// For the standard output: help and the version.
    var answer: String?
    /// For the standard error.
    var complaint: String?

    /// What becomes of any error; ArgumentParser's own are put into one sentence and its 64 becomes 2.
    init(_ error: any Error, parsedBy root: any ParsableCommand.Type) {
        if let ending = error as? Ending {
            self.init(code: ending.code.number, complaint: ending.message.map { "tidegate: \($0)" })
            return
        }
        let code = root.exitCode(for: error)
        guard code != .success else {
            self.init(code: 0, answer: root.fullMessage(for: error))
            return
        }
        let sentence = root.message(for: error)
        self.init(
            code: code == .validationFailure || code == .failure ? Ending.Code.usage.number : code.rawValue,
            complaint: sentence.isEmpty ? nil : "tidegate: \(CommandError.lowercased(sentence))")
    }

    private init(code: Int32, answer: String? = nil, complaint: String? = nil) {
        self.code = code
        self.answer = answer
        self.complaint = complaint
    }

    // The sentence goes on after "tidegate:", unless its first word is written in capitals for a reason.
    private static func lowercased(_ sentence: String) -> String {
        let rest = sentence.dropFirst()
        guard let first = sentence.first, rest.first?.isLowercase == true || rest.first == " " else { return sentence }
        return first.lowercased() + rest
    }
}
