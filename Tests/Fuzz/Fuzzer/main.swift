import CFuzzer
import Glibc

// Usage: Fuzz TARGET [FLAG…] FOLDER…, with the flags and folders of libFuzzer.

private enum Program {
    static let target = CommandLine.arguments.dropFirst().first.flatMap(FuzzTarget.init)
}

guard Program.target != nil else {
    print("The first argument names a target: \(FuzzTarget.allCases.map(\.rawValue).joined(separator: ", "))")
    exit(2)
}
// libFuzzer reads what follows the target's name.
var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv + 1
var count = CommandLine.argc - 1
exit(
    LLVMFuzzerRunDriver(&count, &arguments) { bytes, count in
        Program.target?.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
        return 0
    })
