import Glibc
import Tidegate
import TidegateTestKit

/// A network whose links become slow or lossy on command, for the programs that are measured in it.
///
/// Prints the names of the namespaces, and then a line after each command. `wan there loss 0.2` changes a link,
/// `resolver delay 300` the name server; times are in milliseconds. It ends with its input.
struct SlowNetwork {
    let seed: UInt64

    func run() async throws {
        let lab = try await SlowLab(seed: self.seed)
        defer { lab.end() }
        Self.write([lab.client, lab.router, lab.server, lab.otherServer].map(\.name).joined(separator: " "))
        while let line = readLine() {
            try Self.change(lab, line.split(separator: " ").map(String.init))
            Self.write("done")
        }
    }

    private static func change(_ lab: SlowLab, _ tokens: [String]) throws {
        guard let number = tokens.last.flatMap(Double.init) else { throw Usage() }
        if tokens.dropLast() == ["resolver", "delay"] {
            lab.nameServer.delay = .milliseconds(number)
            return
        }
        let links = ["link": lab.link, "wan": lab.wan, "far": lab.far]
        guard tokens.count == 4, let link = links[tokens[0]] else { throw Usage() }
        switch tokens[1] {
        case "there": link.there = try Self.shape(link.there, tokens[2], number)
        case "back": link.back = try Self.shape(link.back, tokens[2], number)
        default: throw Usage()
        }
    }

    private static func shape(_ shape: LinkShape, _ name: String, _ number: Double) throws -> LinkShape {
        var shape = shape
        switch name {
        case "loss": shape.loss = number
        case "reordering": shape.reordering = number
        case "delay": shape.delay += .milliseconds(number)
        case "jitter": shape.jitter = .milliseconds(number)
        case "rate": shape.bitsPerSecond = Int(number)
        case "queue": shape.queueBytes = Int(number)
        default: throw Usage()
        }
        return shape
    }

    // The benchmark waits for each line.
    private static func write(_ line: String) {
        print(line)
        fflush(nil)
    }
}
