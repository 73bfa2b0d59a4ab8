from doorward.cli import main

main()
