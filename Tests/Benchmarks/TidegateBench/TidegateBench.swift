/// Our side of the benchmarks that need a program: `TidegateBench gets URL COUNT IN-FLIGHT` and
/// `TidegateBench gate ADDRESS`.
@main
struct TidegateBench {
    static func main() async throws {
        let words = Array(CommandLine.arguments.dropFirst())
        switch words.first {
        case "gets":
            guard words.count == 4, let count = Int(words[2]), let inFlight = Int(words[3]) else { throw Usage() }
            try await Gets(url: words[1], count: count, inFlight: inFlight).run()
        case "gate":
            guard words.count == 2 else { throw Usage() }
            try await Gate(target: words[1]).run()
        default:
            throw Usage()
        }
    }
}

struct Usage: Error, CustomStringConvertible {
    let description = "TidegateBench gets URL COUNT IN-FLIGHT | gate ADDRESS"
}
